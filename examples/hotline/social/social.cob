      *> The system of record of a social insurance: what is known of
      *> an insured person. A request is one line: what is asked (12
      *> bytes), the insurance number (10), months to look ahead (3).
      *> The answer is an XML document. Built with
      *>     cobc -x -o build/social social/social.cob
       IDENTIFICATION DIVISION.
       PROGRAM-ID. SOCIAL.

       ENVIRONMENT DIVISION.
       INPUT-OUTPUT SECTION.
       FILE-CONTROL.
           SELECT REQUESTS ASSIGN TO KEYBOARD
               ORGANIZATION IS LINE SEQUENTIAL.

       DATA DIVISION.
       FILE SECTION.
       FD  REQUESTS.
       01  REQUEST-LINE.
           05  QUESTION           PIC X(12).
           05  INSURED            PIC 9(10).
           05  MONTHS-AHEAD       PIC 9(3).

       WORKING-STORAGE SECTION.
       01  REGISTER-DATA.
      *>   number, months paid, points and sick pay with 2 decimals
           05  PIC X(26) VALUE "65121488030420038450007850".
           05  PIC X(26) VALUE "71080239110180012200009120".
           05  PIC X(26) VALUE "88091770450046002300005430".
       01  REGISTER REDEFINES REGISTER-DATA.
           05  PERSON OCCURS 3 TIMES INDEXED BY P.
               10  PERSON-NUMBER  PIC 9(10).
               10  MONTHS-PAID    PIC 9(4).
               10  POINTS         PIC 9(3)V99.
               10  SICK-PAY       PIC 9(5)V99.
       01  POINT-VALUE            PIC 9(2)V99 VALUE 39.32.
       01  POINTS-A-MONTH         PIC 9V9(4).
       01  ANSWER.
           05  ASKED              PIC X(12).
           05  NUMBER-ASKED       PIC 9(10).
           05  FOUND              PIC X(3).
           05  MONTHS             PIC 9(4).
           05  AMOUNT             PIC 9(5).99.
           05  MESSAGE-TEXT       PIC X(60).
       01  XML-TEXT               PIC X(1000).
       01  XML-LENGTH             PIC 9(5).
       01  SHOWN                  PIC ZZZZ9.99.
       01  SHOWN-MONTHS           PIC ZZZ9.

       PROCEDURE DIVISION.
       MAIN-LINE.
           OPEN INPUT REQUESTS
           READ REQUESTS
               AT END
                   DISPLAY "NO REQUEST" UPON SYSERR
                   STOP RUN 2
           END-READ
           IF INSURED IS NOT NUMERIC OR MONTHS-AHEAD IS NOT NUMERIC
               DISPLAY "NO NUMBERS: " REQUEST-LINE UPON SYSERR
               STOP RUN 2
           END-IF
           INITIALIZE ANSWER
           MOVE QUESTION TO ASKED
           MOVE INSURED TO NUMBER-ASKED
           SET P TO 1
           SEARCH PERSON
               AT END
                   MOVE "no" TO FOUND
                   MOVE "That insurance number is not known." TO
                       MESSAGE-TEXT
               WHEN PERSON-NUMBER (P) = INSURED
                   MOVE "yes" TO FOUND
                   PERFORM TELL
           END-SEARCH
           XML GENERATE XML-TEXT FROM ANSWER COUNT IN XML-LENGTH
               NAME OF ANSWER IS "SocialInsuranceAnswer"
                       ASKED IS "asked"
                       NUMBER-ASKED IS "number"
                       FOUND IS "found"
                       MONTHS IS "months"
                       AMOUNT IS "amount"
                       MESSAGE-TEXT IS "message"
           END-XML
           DISPLAY XML-TEXT (1:XML-LENGTH)
           CLOSE REQUESTS
           STOP RUN.

       TELL.
           EVALUATE QUESTION
               WHEN "pension"
                   DIVIDE POINTS (P) BY MONTHS-PAID (P)
                       GIVING POINTS-A-MONTH
                   ADD MONTHS-AHEAD TO MONTHS-PAID (P) GIVING MONTHS
                   COMPUTE AMOUNT ROUNDED = POINT-VALUE *
                       (POINTS (P) + POINTS-A-MONTH * MONTHS-AHEAD)
                   MOVE AMOUNT TO SHOWN
                   STRING "Your pension would be "
                       FUNCTION TRIM (SHOWN) " a month."
                       DELIMITED BY SIZE INTO MESSAGE-TEXT
               WHEN "months"
                   MOVE MONTHS-PAID (P) TO MONTHS SHOWN-MONTHS
                   STRING "You have paid for "
                       FUNCTION TRIM (SHOWN-MONTHS) " months."
                       DELIMITED BY SIZE INTO MESSAGE-TEXT
               WHEN "sick-pay"
                   MOVE SICK-PAY (P) TO AMOUNT SHOWN
                   STRING "Your sick pay is " FUNCTION TRIM (SHOWN)
                       " a day." DELIMITED BY SIZE INTO MESSAGE-TEXT
               WHEN OTHER
                   DISPLAY "NOT KNOWN: " QUESTION UPON SYSERR
                   STOP RUN 3
           END-EVALUATE.
