      *> Risk class and credit limit of an applicant, from age, yearly
      *> income and existing debt. One line of 21 bytes comes in for
      *> each applicant, one of 30 goes out. Build it with
      *>     cobc -x -o credit_rules credit_rules.cob
       IDENTIFICATION DIVISION.
       PROGRAM-ID. CREDIT-RULES.

       ENVIRONMENT DIVISION.
       INPUT-OUTPUT SECTION.
       FILE-CONTROL.
           SELECT APPLICANTS ASSIGN TO KEYBOARD
               ORGANIZATION IS LINE SEQUENTIAL.

       DATA DIVISION.
       FILE SECTION.
       FD  APPLICANTS.
       01  APPLICANT.
           05  AGE                PIC 9(3).
           05  INCOME             PIC 9(7)V99.
           05  DEBT               PIC 9(7)V99.

       WORKING-STORAGE SECTION.
       01  DECISION.
           05  RISK-CLASS         PIC X.
           05  CREDIT-LIMIT       PIC 9(7)V99.
           05  REASON             PIC X(20).
       01  DEBT-RATIO             PIC 9(7)V9(4).
       01  MORE-APPLICANTS        PIC X VALUE "Y".

       PROCEDURE DIVISION.
       MAIN-LINE.
           OPEN INPUT APPLICANTS
           PERFORM UNTIL MORE-APPLICANTS = "N"
               READ APPLICANTS
                   AT END MOVE "N" TO MORE-APPLICANTS
                   NOT AT END PERFORM DECIDE
               END-READ
           END-PERFORM
           CLOSE APPLICANTS
           STOP RUN.

       DECIDE.
           IF AGE IS NOT NUMERIC OR INCOME IS NOT NUMERIC
                   OR DEBT IS NOT NUMERIC
               DISPLAY "NO NUMBERS: " APPLICANT UPON SYSERR
               STOP RUN 2
           END-IF
           MOVE 0 TO CREDIT-LIMIT
           PERFORM RATE-DEBT
           EVALUATE TRUE
               WHEN AGE < 18
                   MOVE "D" TO RISK-CLASS
                   MOVE "UNDER AGE" TO REASON
               WHEN DEBT-RATIO > 0.6
                   MOVE "D" TO RISK-CLASS
                   MOVE "TOO MUCH DEBT" TO REASON
               WHEN DEBT-RATIO > 0.4
                   MOVE "C" TO RISK-CLASS
                   MOVE "HIGH DEBT" TO REASON
                   COMPUTE CREDIT-LIMIT ROUNDED = INCOME * 0.05
               WHEN DEBT-RATIO > 0.2 OR INCOME < 30000
                   MOVE "B" TO RISK-CLASS
                   MOVE "SOME DEBT OR INCOME" TO REASON
                   COMPUTE CREDIT-LIMIT ROUNDED = INCOME * 0.15
               WHEN OTHER
                   MOVE "A" TO RISK-CLASS
                   MOVE "SOUND" TO REASON
                   COMPUTE CREDIT-LIMIT ROUNDED = INCOME * 0.30
           END-EVALUATE
           IF AGE > 70
               COMPUTE CREDIT-LIMIT ROUNDED = CREDIT-LIMIT / 2
           END-IF
           DISPLAY DECISION.

       RATE-DEBT.
           IF INCOME = 0
               IF DEBT = 0
                   MOVE 0 TO DEBT-RATIO
               ELSE
                   MOVE 9 TO DEBT-RATIO
               END-IF
           ELSE
               COMPUTE DEBT-RATIO = DEBT / INCOME
                   ON SIZE ERROR MOVE 9 TO DEBT-RATIO
               END-COMPUTE
           END-IF.
